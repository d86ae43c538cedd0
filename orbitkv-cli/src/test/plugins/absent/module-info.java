/** A library that is there when a plugin is compiled and missing when it is loaded. */
module io.example.absent {}
