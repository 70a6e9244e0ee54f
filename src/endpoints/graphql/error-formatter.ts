import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { AppError, type PublicError, publicError, type Reason, toAppError } from '../../errors.ts'

/** An error in a response. */
export type FormattedError = PublicError & Pick<GraphQLFormattedError, 'locations' | 'path'>

/** The maximum number of errors in a response. */
export const maxErrors = 50
/** The maximum number of characters of graphql's own messages, which repeat the client's text. */
const maxMessage = 1000

/** A request that was not executed because its document or variables are invalid. */
export class RequestRefused extends Error {
  override name = 'RequestRefused'
  readonly reason: Reason
  readonly errors: readonly GraphQLError[]

  /** @param errors graphql's own, whose messages describe the document and are public */
  constructor(reason: Reason, errors: readonly GraphQLError[]) {
    super(errors[0]?.message)
    this.reason = reason
    this.errors = errors
  }
}

/** Formats the errors of a request that was not executed. @throws any other error */
export function formatRefusal(error: unknown, requestId: string): FormattedError[] {
  if (error instanceof AppError) return [publicError(error, requestId)]
  if (!(error instanceof RequestRefused)) throw error
  return error.errors
    .slice(0, maxErrors)
    .map(each => withPosition(publicError(new AppError(error.reason, shortened(each.message)), requestId), each))
}

/** Formats the errors that resolvers threw. @param report called for each error that the client did not cause */
export function formatExecution(
  errors: readonly GraphQLError[],
  requestId: string,
  report: (error: AppError, path: string) => void,
): FormattedError[] {
  return errors.slice(0, maxErrors).map(error => {
    const known = explain(error)
    if (known.code === 'INTERNAL_SERVER_ERROR') report(known, (error.path ?? []).join('.'))
    return withPosition(publicError(known, requestId), error)
  })
}

function explain(error: GraphQLError): AppError {
  const cause = causeOf(error)
  // graphql's errors about arguments name a position in the document; those about a resolver's value do not.
  const isArgument = cause instanceof GraphQLError && cause !== error && cause.nodes !== undefined
  return isArgument ? new AppError('INVALID_INPUT', shortened(cause.message)) : toAppError(cause)
}

/** Returns the error that the resolver threw. */
export function causeOf(error: Error): Error {
  return error instanceof GraphQLError && error.originalError ? causeOf(error.originalError) : error
}

function shortened(message: string): string {
  return message.length > maxMessage ? `${message.slice(0, maxMessage).toWellFormed()}...` : message
}

function withPosition(error: PublicError, { locations, path }: GraphQLError): FormattedError {
  return { ...error, ...(locations && { locations }), ...(path && { path }) }
}
