module geode/guest

go 1.25.0
