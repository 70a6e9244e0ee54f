/** Parses the bodies that name the files and folders of an archive. */
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { parseJsonBody } from '../../http/json.ts'

/** Bytes of a body. The paths have at most 256 KiB together, in JSON, in a form or in a ticket. */
export const maxArchiveBody = 1024 * 1024

/** A page can send a form without a script that reads the response, so the browser downloads it. */
export function isForm({ headers }: FastifyRequest): boolean {
  return /^application\/x-www-form-urlencoded(?:;|$)/i.test(headers['content-type'] ?? '')
}

/** @throws INVALID_INPUT with `message` */
export async function parseObject(json: Buffer | undefined, message: string): Promise<Record<string, unknown>> {
  const value = json && (await parseJsonBody(json))
  if (typeof value === 'object' && value !== null) return { ...value }
  throw new AppError('INVALID_INPUT', message)
}

export function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(text => typeof text === 'string')
}
