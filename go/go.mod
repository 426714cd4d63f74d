module github.com/anabranch/anabranch/go

go 1.19
