package broker

var messageVerbs = []Verb{}
