import { create } from 'content-disposition'

const generic = 'application/octet-stream'
const safeToShow = /^(?:image\/(?!svg)[\w.-]+|audio\/[\w.-]+|video\/[\w.-]+|text\/plain|application\/pdf)$/
/** RFC 9110, section 8.3.1. A comma outside quotes starts another type, and browsers use the last one. */
const mediaType =
  /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?:[\t ]*;[\t ]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[ !#-[\]-~]*"))*$/
const controlCharacter = /\p{Cc}/gu

export function isMediaType(text: string): boolean {
  return mediaType.test(text)
}

export function contentType(mimeType: string | null): string {
  return mimeType !== null && isMediaType(mimeType) ? mimeType : generic
}

/** RFC 6266. Inline only for types that cannot run script. */
export function contentDisposition(file: { name: string; mimeType: string | null }, inline: boolean): string {
  const type = inline && isSafeToShow(file.mimeType) ? 'inline' : 'attachment'
  return create(file.name.replace(controlCharacter, '_'), { type })
}

function isSafeToShow(mimeType: string | null): boolean {
  const essence = contentType(mimeType).split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return safeToShow.test(essence)
}
