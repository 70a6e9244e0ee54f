/** An error in the JSON format of Google's APIs (developers.google.com/workspace/drive/api/guides/handle-errors). */
export class ApiError extends Error {
  readonly status: number
  readonly reason: string
  readonly location: { locationType: string; location: string } | undefined
  readonly headers: Record<string, string>

  constructor(
    status: number,
    reason: string,
    message: string,
    options: { location?: string; locationType?: string; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.status = status
    this.reason = reason
    this.location = options.location
      ? { locationType: options.locationType ?? 'parameter', location: options.location }
      : undefined
    this.headers = options.headers ?? {}
  }

  get body(): object {
    const domain = /rateLimit|dailyLimit/i.test(this.reason) ? 'usageLimits' : 'global'
    const detail = { message: this.message, domain, reason: this.reason, ...this.location }
    return { error: { code: this.status, message: this.message, errors: [detail] } }
  }
}

export const fileNotFound = (id: string) =>
  new ApiError(404, 'notFound', `File not found: ${id}.`, { location: 'fileId' })

export const invalidValue = (location: string, message = 'Invalid Value') =>
  new ApiError(400, 'invalid', message, { location })

export const notPermitted = () =>
  new ApiError(403, 'insufficientFilePermissions', 'The user does not have sufficient permissions for this file.')

export const invalidCredentials = () =>
  new ApiError(401, 'authError', 'Invalid Credentials', { location: 'Authorization', locationType: 'header' })

const known: Record<string, readonly [number, string]> = {
  userRateLimitExceeded: [403, 'User Rate Limit Exceeded'],
  rateLimitExceeded: [403, 'Rate Limit Exceeded'],
  dailyLimitExceeded: [403, 'Daily Limit Exceeded'],
  storageQuotaExceeded: [403, "The user's Drive storage quota has been exceeded."],
  insufficientFilePermissions: [403, 'The user does not have sufficient permissions for this file.'],
  authError: [401, 'Invalid Credentials'],
  notFound: [404, 'File not found.'],
  backendError: [500, 'Backend Error'],
  badRequest: [400, 'Bad Request'],
}

/** The errors for faults on demand, by the reasons in the guide. */
export function errorOf(reason: string, status?: number, headers: Record<string, string> = {}): ApiError {
  const [usual, message] = known[reason] ?? [500, 'Internal Error']
  return new ApiError(status ?? usual, reason, message, { headers })
}
