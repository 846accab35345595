../../ ../../../ Sources / HeadgateDispatch / Limiting / QuotaFields + Reading.swift
