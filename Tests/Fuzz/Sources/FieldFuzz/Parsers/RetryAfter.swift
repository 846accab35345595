../../ ../../../ Sources / HeadgateDispatch / Retry / RetryAfter.swift
