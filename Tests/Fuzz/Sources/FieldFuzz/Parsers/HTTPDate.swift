../../ ../../../ Sources / HeadgateDispatch / Retry / HTTPDate.swift
