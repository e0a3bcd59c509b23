package broker

var claimVerbs = []Verb{}
