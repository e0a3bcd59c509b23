package broker

var launchVerbs = []Verb{}
