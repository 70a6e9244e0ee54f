import { AppError } from '../../errors.ts'
import { parseConflict, parseMimeType, parseModifiedAt } from '../../http/content/body-headers.ts'
import type { NewResumableDrop } from '../../services/shares/drops.ts'
import type { NewResumableUpload } from '../../services/uploads/index.ts'

const names = ['providerId', 'path', 'conflict', 'filetype', 'modifiedAt'] as const
type MetadataName = (typeof names)[number]

const pair = /^([\x21-\x2b\x2d-\x7e]+)(?: ([A-Za-z0-9+/]*={0,2}))?$/
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Parses an `Upload-Metadata` header: comma-separated pairs of a name and base64 of UTF-8. Unknown names are stored for the
 * client and otherwise ignored.
 * @throws INVALID_INPUT
 */
export function parseMetadata(header: string): Omit<NewResumableUpload, 'size'> {
  const found = parsePairs(header)
  return {
    providerId: required(found.providerId, 'providerId'),
    path: required(found.path, 'path'),
    conflict: parseConflict(found.conflict),
    mimeType: parseMimeType(found.filetype) ?? null,
    modifiedAt: parseModifiedAt(found.modifiedAt) ?? null,
    metadata: header,
  }
}

/** Parses the metadata of an upload through a share link, which decides about the provider. @throws INVALID_INPUT */
export function parseDropMetadata(header: string): Omit<NewResumableDrop, 'size'> {
  const { path, filetype, modifiedAt } = parsePairs(header)
  return {
    path: required(path, 'path'),
    mimeType: parseMimeType(filetype) ?? null,
    modifiedAt: parseModifiedAt(modifiedAt) ?? null,
    metadata: header,
  }
}

function parsePairs(header: string): Partial<Record<MetadataName, string>> {
  const found: Partial<Record<MetadataName, string>> = {}
  for (const text of header === '' ? [] : header.split(',')) {
    const [, key, base64 = ''] = pair.exec(text.trim()) ?? []
    if (key === undefined) throw new AppError('INVALID_INPUT', 'The Upload-Metadata header is malformed.')
    const name = names.find(known => known === key)
    if (name) found[name] = decode(name, base64)
  }
  return found
}

function required(value: string | undefined, name: MetadataName): string {
  if (!value) throw new AppError('INVALID_INPUT', `The Upload-Metadata header lacks "${name}".`)
  return value
}

function decode(name: MetadataName, base64: string): string {
  try {
    return utf8.decode(Buffer.from(base64, 'base64'))
  } catch (cause) {
    throw new AppError('INVALID_INPUT', `"${name}" in the Upload-Metadata header is not UTF-8.`, { cause })
  }
}
