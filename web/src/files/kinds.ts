import type { FileKind } from '../ui/kind-icon.tsx'
import { previewKind, type TypedEntry } from './preview/file-types.ts'

const endings: Readonly<Partial<Record<FileKind, string>>> = {
  image: 'jpg jpeg png gif webp avif bmp ico heic heif tif tiff raw dng cr2 cr3 nef nrw arw orf raf rw2 pef srw jxl',
  video: 'mp4 m4v mov webm mkv avi mpg mpeg wmv 3gp ogv',
  audio: 'mp3 m4a aac flac ogg opus wav wma aiff mid midi',
  pdf: 'pdf',
  document: 'doc docx docm dot dotx odt ott rtf pages wpd',
  sheet: 'xls xlsx xlsm xlsb ods ots numbers csv tsv',
  slides: 'ppt pptx pptm pps ppsx odp otp key',
  archive: 'zip tar gz tgz bz2 xz zst 7z rar jar iso dmg deb rpm apk cab lz4 br',
  book: 'epub mobi azw azw3 fb2 djvu cbz cbr',
  font: 'ttf otf woff woff2 ttc eot',
  design: 'psd psb ai eps indd sketch fig xd xcf kra svg afdesign afphoto blend dwg dxf stl obj',
}

const byEnding = new Map(
  Object.entries(endings).flatMap(([kind, list]) => list.split(' ').map(ending => [ending, kind as FileKind] as const)),
)

const plainText = /\.(?:txt|md|markdown|log)$/i
const plainTextName = /^(?:readme|licen[cs]e|changelog)$/i

/** Returns what a file holds, as far as its name and its media type tell. */
export function kindOf(entry: TypedEntry): FileKind {
  const { name } = entry
  if (entry.__typename === 'Folder') return 'folder'
  const known = byEnding.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase())
  if (known) return known
  const kind = previewKind(entry)
  if (kind === 'table') return 'sheet'
  if (kind === 'text') return plainText.test(name) || plainTextName.test(name) ? 'text' : 'code'
  if (kind === 'office') return 'document'
  return kind ?? (entry.mimeType?.startsWith('image/') ? 'image' : 'other')
}
