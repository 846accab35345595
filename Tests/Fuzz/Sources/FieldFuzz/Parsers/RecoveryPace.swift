../../ ../../../ Sources / HeadgateDispatch / Limiting / RecoveryPace.swift
