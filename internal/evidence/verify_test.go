package evidence

func (w *world) verify() {}
