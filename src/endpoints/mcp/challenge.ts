/** Tells clients how to get a token: RFC 6750, section 3, RFC 9728, section 5.1, and the authorization of MCP. */
import type { FastifyRequest } from 'fastify'
import { includesScope } from '../../auth/scopes.ts'
import { memberPermissions, type Viewer } from '../../auth/viewer.ts'
import type { AppError } from '../../errors.ts'
import { type ErrorResponse, errorResponse } from '../../http/errors.ts'
import { baseUrlOf } from '../../http/url.ts'

/** Returns an error in the form of every endpoint, with a challenge if a token would help. */
export function formatMcpError(error: AppError, request: FastifyRequest, publicUrl: string | null): ErrorResponse {
  const response = errorResponse(error, request)
  const metadata = `resource_metadata="${baseUrlOf(request, publicUrl)}/.well-known/oauth-protected-resource/mcp"`
  const challenge = (facts: readonly string[]) => ({
    ...response,
    headers: { ...response.headers, 'WWW-Authenticate': `Bearer ${[...facts, metadata].join(', ')}` },
  })
  if (error.status === 401) {
    const isInvalid = request.headers.authorization !== undefined
    return challenge([...(isInvalid ? ['error="invalid_token"'] : []), 'scope="read write"'])
  }
  if (request.viewer && needsConsent(error, request.viewer)) {
    return challenge(['error="insufficient_scope"', 'scope="read write"'])
  }
  return response
}

/** Returns whether a person could give the application the scope that it lacks. */
export function needsConsent(error: AppError, { isConnection, member }: Viewer): boolean {
  return (
    isConnection === true &&
    error.reason === 'SCOPE_REQUIRED' &&
    includesScope(memberPermissions(member).scope, 'write')
  )
}
