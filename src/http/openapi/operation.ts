/**
 * The document `/openapi.json`. The operations that routes state enter, and one document for all of them leaves.
 *
 * This file has the description of a REST endpoint in `/openapi.json`. A route states it in its `config`, from the same names,
 * lists and patterns that its parsers use, so that the document cannot differ from what the server accepts.
 */

import { maxPathBytes } from '../../auth/path.ts'
import type { Reason } from '../../errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operations of the route by method. HEAD has the operation of GET unless it has its own. */
    operations?: Readonly<Record<string, Operation>>
  }
}

/** JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

export interface RequestParameter {
  description: string
  required?: true
  schema: JsonSchema
}

/** Parameters of one kind, by name. */
export type RequestParameters = Readonly<Record<string, RequestParameter>>

export interface ResponseHeader {
  description: string
  schema: JsonSchema
}

/** By name. */
export type ResponseHeaders = Readonly<Record<string, ResponseHeader>>

/** Bodies by media type. Null is a body of bytes. */
export type MediaTypes = Readonly<Record<string, JsonSchema | null>>

export interface DescribedResponse {
  description: string
  headers?: ResponseHeaders
  content?: MediaTypes
}

/** The names of `securitySchemes`. */
export type SecurityScheme = 'bearer' | 'consoleCookie' | 'consoleHeader' | 'downloadLink'

export interface Operation {
  /** The `operationId`. */
  id: string
  tag: string
  summary: string
  description?: string
  /** The ways to authenticate, each with all its schemes. None means that the endpoint requires no credential. */
  security: readonly (readonly SecurityScheme[])[]
  path?: RequestParameters
  query?: RequestParameters
  headers?: RequestParameters
  body?: { description: string; required?: true; content: MediaTypes }
  /** The responses that are not errors, by status. */
  responses: Readonly<Record<number, DescribedResponse>>
  /** The reasons of errors, besides those that every endpoint has. */
  reasons: readonly Reason[]
  /** Headers that error responses can have, besides those of every endpoint. */
  errorHeaders?: ResponseHeaders
  /** Errors of the endpoint itself are HTML pages. */
  sendsPages?: true
  /** Schemas that others refer to, by their name in `components`. */
  schemas?: Readonly<Record<string, JsonSchema>>
}

/** A credential in the Authorization header, or the console's cookie with its header. */
export const withCredential = [['bearer'], ['consoleCookie', 'consoleHeader']] as const

export const text: JsonSchema = { type: 'string' }
/** A number of bytes, exact in JSON. */
export const bytes: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

/** The parameters that name an entry. */
export const locationParameters = {
  providerId: { description: 'The ID of a storage provider.', schema: text },
  path: {
    description: `An absolute path within the provider, of at most ${maxPathBytes} bytes of UTF-8.`,
    schema: { type: 'string', pattern: '^/', maxLength: maxPathBytes },
  },
} satisfies RequestParameters
