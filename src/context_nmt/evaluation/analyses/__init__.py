"""What goes on inside trained models, read by hooks from outside."""
