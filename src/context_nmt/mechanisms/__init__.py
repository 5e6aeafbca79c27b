"""One file per mechanism; each exports SLOTS, Settings, build and FACTS."""
