../../ ../../../ Sources / HeadgateDispatch / Limiting / Quota.swift
