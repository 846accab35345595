../../ ../../../ Sources / HeadgateDispatch / Limiting / BreakerPolicy.swift
