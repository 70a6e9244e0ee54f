/** Errors in the forms of the front ends' protocols. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type AppError, publicError } from '../errors.ts'
import { findBelow } from './url.ts'

/** An error as the body of a response. */
export interface ErrorResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}

export type ErrorFormat = (error: AppError, request: FastifyRequest) => ErrorResponse

declare module 'fastify' {
  interface FastifyInstance {
    /** The forms of errors, by the beginning of the path. */
    errorFormats: Map<string, ErrorFormat>
  }
}

export function acceptErrorFormats(app: FastifyInstance): void {
  app.decorate('errorFormats', new Map<string, ErrorFormat>())
}

/** Sends the errors of all URLs below a path in the form of the front end there. */
export function formatErrorsBelow(app: FastifyInstance, path: string, format: ErrorFormat): void {
  app.errorFormats.set(path, format)
}

/** Returns an error in the form that its URL requires. It may have occurred before a route was found. */
export function formatError(error: AppError, request: FastifyRequest): ErrorResponse {
  const format = findBelow(request.server.errorFormats, request.url)
  if (format) return format(error, request)
  return {
    status: error.status,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      ...(error.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    },
    body: JSON.stringify({ errors: [publicError(error, request.id)] }),
  }
}
