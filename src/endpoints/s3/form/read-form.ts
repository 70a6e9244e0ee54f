/** Reads the fields of a form up to its file, which is the last field that counts. */
import type { MultipartFile, MultipartValue } from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../../errors.ts'
import { type FormLimits, formParts, type Parts } from '../../../http/content/form-parts.ts'
import { withTimeout } from '../../../lib/timeout.ts'
import { S3Error } from '../failure.ts'

export const formLimits: FormLimits = { parts: 100, fields: 60, files: 1, fieldSize: 32 * 1024 }
/** Bytes of all fields together. */
const maxFields = 64 * 1024

export interface ObjectForm {
  /** By their names in lowercase. */
  fields: Map<string, string>
  file: MultipartFile
  parts: Parts
}

/** The fields arrive before the client is known, so all of them together have a deadline. @throws S3Error, INCOMPLETE_BODY */
export function readForm(request: FastifyRequest): Promise<ObjectForm> {
  const { bodyTimeout } = request.server
  const late = () => new AppError('INCOMPLETE_BODY', `The fields did not arrive within ${bodyTimeout / 1000} seconds.`)
  return withTimeout(read(request), bodyTimeout, late)
}

async function read(request: FastifyRequest): Promise<ObjectForm> {
  const parts = formParts(request)
  const fields = new Map<string, string>()
  let bytes = 0
  for (let part = await parts.take(); part; part = await parts.take()) {
    if (part.type === 'file') {
      if (part.fieldname !== 'file') throw invalid('The file of the form must be in the field "file".')
      return { fields, file: part, parts }
    }
    const [name, value] = fieldOf(part)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    if (bytes > maxFields) throw invalid(`The fields before the file can have at most ${maxFields} bytes.`)
    if (fields.has(name)) throw invalid('A field of the form appears more than once.')
    fields.set(name, value)
  }
  throw invalid('The form has no file: it must be in the field "file", after all others.')
}

function fieldOf({ fieldname, value, valueTruncated }: MultipartValue): [name: string, value: string] {
  // The parser accepts a part without a name, which its types do not say.
  if (typeof fieldname !== 'string') throw invalid('A field of the form has no name.')
  if (typeof value !== 'string' || valueTruncated) throw invalid('A field of the form is not text or is too long.')
  return [fieldname.toLowerCase(), value]
}

function invalid(message: string): S3Error {
  return new S3Error('InvalidArgument', message)
}
