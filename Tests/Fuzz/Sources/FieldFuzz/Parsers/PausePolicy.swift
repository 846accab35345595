../../ ../../../ Sources / HeadgateDispatch / Limiting / PausePolicy.swift
