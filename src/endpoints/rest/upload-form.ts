import { Readable } from 'node:stream'
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { parseNewName } from '../../auth/path.ts'
import { AppError } from '../../errors.ts'
import { requestSignal } from '../../http/connection/client-abort.ts'
import { parseConflict, parseMimeType, parseModifiedAt } from '../../http/content/body-headers.ts'
import { type FormLimits, formParts, type Parts, wholePart } from '../../http/content/form-parts.ts'
import { fromHttp } from '../../http/errors.ts'
import { quoteName } from '../../http/query.ts'
import type { FileEntry, Files } from '../../services/files/index.ts'
import type { Services } from '../../services/index.ts'
import { type StoredEntry, storedEntry } from './stored-entry.ts'
import { uploadParameters } from './upload-operation.ts'

const fieldNames = Object.keys(uploadParameters) as (keyof typeof uploadParameters)[]
type Fields = { [N in keyof typeof uploadParameters]?: string }

export const formLimits: FormLimits = { parts: 1000, fields: 10, fieldSize: 16 * 1024 }

/**
 * Stores the files of a form one after the other, each as `<path>/<filename>`. The query can replace form fields. If one
 * file fails, those before it stay stored; `stored` in the error's extensions has their paths.
 * @throws INVALID_INPUT, INVALID_PATH, INCOMPLETE_BODY, as `Files.upload`
 */
export async function uploadForm(
  { files }: Pick<Services, 'files'>,
  request: FastifyRequest,
  query: Fields,
): Promise<StoredEntry[]> {
  const stored: StoredEntry[] = []
  const fields: Fields = {}
  const parts = formParts(request)
  try {
    for (let part = await parts.take(); part; part = await parts.take()) {
      if (part.type === 'field') readField(fields, part, { query, isLate: stored.length > 0 })
      else stored.push(storedEntry(await storePart(files, request, { ...query, ...fields }, part, parts)))
    }
    if (stored.length === 0) throw new AppError('INVALID_INPUT', 'The form has no file.')
    return stored
  } catch (error) {
    if (stored.length === 0 || requestSignal(request).aborted) throw error
    const failed = fromHttp(error)
    const { message, cause, retryAfterMs } = failed
    const facts = { ...failed.facts, stored: stored.map(({ path }) => path) }
    throw new AppError(failed.reason, message, { cause: cause ?? failed, retryAfterMs, facts })
  }
}

function readField(
  fields: Fields,
  { fieldname, value, valueTruncated }: MultipartValue,
  { query, isLate }: { query: Fields; isLate: boolean },
): void {
  const name = fieldNames.find(known => known === fieldname)
  if (name === undefined) {
    throw invalid(`The form has no field ${quoteName(String(fieldname))}, only ${fieldNames.join(', ')}.`)
  }
  if (isLate) throw invalid(`The form field "${name}" comes after a file: send the fields first.`)
  if (fields[name] !== undefined) throw invalid(`The form field "${name}" appears more than once.`)
  if (query[name] !== undefined) throw invalid(`"${name}" appears both in the query and in the form.`)
  if (typeof value !== 'string' || valueTruncated) throw invalid(`The form field "${name}" is not text or is too long.`)
  fields[name] = value
}

async function storePart(
  files: Files,
  request: FastifyRequest,
  fields: Fields,
  part: MultipartFile,
  parts: Parts,
): Promise<FileEntry> {
  const { filename } = part
  if (!fields.providerId) {
    throw invalid('The form field "providerId" is missing: send it before the files or in the query.')
  }
  if (!filename) throw invalid(`The file in the part "${String(part.fieldname).slice(0, 50)}" has no filename.`)
  const folder = fields.path ?? '/'
  const path = `${folder === '/' ? '' : folder}/${parseNewName(filename)}`
  const conflict = parseConflict(fields.conflict)
  const body = Readable.from(wholePart(part.file, parts))
  const mimeType = parseMimeType(part.mimetype)
  const modifiedAt = parseModifiedAt(fields.modifiedAt)
  const { providerId } = fields
  return files.upload(
    request.viewer,
    { providerId, path, conflict, body, mimeType, modifiedAt },
    requestSignal(request),
  )
}

function invalid(message: string): AppError {
  return new AppError('INVALID_INPUT', message)
}
