/** The task of a process that makes a PDF document of an office document. The result is the PDF document. */

export interface ConvertTask {
  /** The size of the original in bytes; null if the back end does not report it. */
  size: number | null
  /** The extension of the name, which is one of `formats`. */
  extension: string
  /** An empty folder, which the server removes. */
  folder: string
  /** The path of the program soffice. */
  soffice: string
  /** The path of the program unshare; null if there is none. */
  unshare: string | null
}

/** Bytes. */
export const maxOriginal = 64 * 1024 * 1024
export const maxRendition = 64 * 1024 * 1024

/** The formats that LibreOffice Writer, Calc and Impress read. */
const formats = new Set(
  'doc docx docm dot dotx odt ott rtf xls xlsx xlsm xlsb ods ots ppt pptx pptm pps ppsx odp otp'.split(' '),
)

/** Returns the format of a file of this name; null if it is no office document. */
export function formatOf(name: string): string | null {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return formats.has(extension) ? extension : null
}
