package office

// Inside is the reach of the pages of an office.
const Inside = inside
