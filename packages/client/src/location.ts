/** A file or folder of a storage provider. */
export interface Location {
  providerId: string
  /** The absolute path within the provider, such as `/reports/2026.pdf`. */
  path: string
}
