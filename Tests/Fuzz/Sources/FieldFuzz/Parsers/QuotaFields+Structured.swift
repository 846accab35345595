../../ ../../../ Sources / HeadgateDispatch / Limiting / QuotaFields + Structured.swift
