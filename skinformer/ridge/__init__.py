"""The linear path in closed form: ridges on windows, and the blend of them that proved itself."""
