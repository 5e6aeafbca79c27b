"""One file per mechanism; each exports SLOTS, Settings and build."""
