module journey

go 1.26.0
