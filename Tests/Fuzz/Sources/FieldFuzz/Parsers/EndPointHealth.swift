../../ ../../../ Sources / HeadgateDispatch / Limiting / EndPointHealth.swift
