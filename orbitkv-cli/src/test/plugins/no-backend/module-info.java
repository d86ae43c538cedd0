/** A module that provides nothing. */
module io.example.nothing {}
