package broker

var decisionVerbs = []Verb{}
