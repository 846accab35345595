module bulk

go 1.19
