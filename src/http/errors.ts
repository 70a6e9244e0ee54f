/** Converts the errors of Fastify and its plugins, and writes errors in the forms of the protocols of the endpoints. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, publicError, type Reason, toAppError } from '../errors.ts'
import { findBelow } from './url.ts'

/** The error codes of Fastify and its plugins, with the reasons and messages that clients get. */
const byCode: Record<string, [Reason, string]> = {
  FST_ERR_BAD_URL: ['INVALID_INPUT', 'The URL is malformed: its percent-encoding cannot be decoded.'],
  FST_ERR_MAX_PARAM_LENGTH: ['INVALID_INPUT', 'A segment of the URL is too long.'],
  FST_ERR_CTP_BODY_TOO_LARGE: ['TOO_LARGE', 'The body is larger than this endpoint accepts.'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['INVALID_INPUT', 'The body is empty, but its Content-Type is JSON.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['INVALID_INPUT', 'The body is not valid JSON.'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['INCOMPLETE_BODY', 'The length of the body differs from its Content-Length.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'This endpoint does not accept the Content-Type.'],
  FST_PARTS_LIMIT: ['TOO_LARGE', 'The form has too many parts: send the files in several requests.'],
  FST_FILES_LIMIT: ['TOO_LARGE', 'The form has too many files: send them in several requests.'],
  FST_FIELDS_LIMIT: ['INVALID_INPUT', 'The form has too many fields: it can have "providerId", "path" and "conflict".'],
  FST_PROTO_VIOLATION: ['INVALID_INPUT', 'The name of a form field is not allowed.'],
  FST_INVALID_JSON_FIELD_ERROR: ['INVALID_INPUT', 'A form field has the type JSON but is not valid JSON.'],
  FST_MP_PREMATURE_CLOSE: ['INCOMPLETE_BODY', 'The form ended before it was complete.'],
}

/** The reasons of errors whose code is not listed. */
const byStatus: Record<number, Reason> = {
  400: 'INVALID_INPUT',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  503: 'UNAVAILABLE',
}

/** Converts any error that a route, a hook, a plugin or Fastify itself throws. */
export function fromHttp(error: unknown): AppError {
  if (error instanceof AppError || !(error instanceof Error)) return toAppError(error)
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown }
  const listed = byCode[String(code)]
  if (listed) return new AppError(...listed, { cause: error })
  const reason = typeof statusCode === 'number' ? byStatus[statusCode] : undefined
  return reason ? new AppError(reason, undefined, { cause: error }) : toAppError(error)
}

/** Converts errors of the form parser, which have no codes if the form is malformed. */
export function fromForm(error: unknown): AppError {
  if (error instanceof Error && !('code' in error) && !(error instanceof AppError)) {
    return /unexpected end|terminated early/i.test(error.message)
      ? new AppError('INCOMPLETE_BODY', 'The form ended before it was complete.', { cause: error })
      : new AppError('INVALID_INPUT', 'The form is malformed: its parts cannot be separated.', { cause: error })
  }
  return fromHttp(error)
}

/** An error as the body of a response. */
export interface ErrorResponse {
  status: number
  headers: Readonly<Record<string, string>>
  body: string
}

type ErrorFormat = (error: AppError, request: FastifyRequest) => ErrorResponse

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
  return format ? format(error, request) : errorResponse(error, request)
}

/** Returns an error in the form of every endpoint whose protocol has none of its own. */
export function errorResponse(error: AppError, request: FastifyRequest): ErrorResponse {
  return {
    status: error.status,
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      ...(error.status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    },
    body: JSON.stringify({ errors: [publicError(error, request.id)] }),
  }
}
