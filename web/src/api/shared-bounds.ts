/** The bounds of files that other programs share and that wait on this device, with those that are sent with one form. */
export const maxShared = { files: 100, bytes: 2_000_000_000 }
