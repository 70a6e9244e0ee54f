/** The kind of content of a file, as far as the extension of its name tells it. The console has the same kinds in `files/kinds.ts`. */
const extensions = {
  IMAGE:
    'jpg jpeg png gif webp avif bmp ico svg heic heif tif tiff raw dng cr2 cr3 nef nrw arw orf raf rw2 pef srw jxl',
  VIDEO: 'mp4 m4v mov webm mkv avi mpg mpeg wmv 3gp ogv ts',
  AUDIO: 'mp3 m4a aac flac ogg opus wav wma aiff mid midi',
  DOCUMENT: 'pdf doc docx docm dot dotx odt ott rtf pages wpd txt md epub',
  SPREADSHEET: 'xls xlsx xlsm xlsb ods ots numbers csv tsv',
  PRESENTATION: 'ppt pptx pptm pps ppsx odp otp key',
  ARCHIVE: 'zip tar gz tgz bz2 xz zst 7z rar jar iso dmg',
} as const

export type FileType = keyof typeof extensions

export const fileTypes = Object.keys(extensions) as FileType[]

/** Returns the extensions of the files of some types, in lower case. */
export function extensionsOf(types: readonly FileType[]): string[] {
  return types.flatMap(type => extensions[type].split(' '))
}
