package broker

var readVerbs = []Verb{}
