import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { AppError, type PublicError, publicError, type Reason, toAppError } from '../errors.ts'

/** An error as it goes out. */
export type FormattedError = PublicError & Pick<GraphQLFormattedError, 'locations' | 'path'>

/** Of one answer; what follows would say nothing new. */
export const maxErrors = 50
/** Characters of graphql's own messages, which repeat what the client has written. */
const maxMessage = 1000

/** A request that was not executed: the document or its variables are not good. */
export class RequestRefused extends Error {
  override name = 'RequestRefused'
  readonly reason: Reason
  readonly errors: readonly GraphQLError[]

  /** @param errors graphql's own: their messages are about the document, and public */
  constructor(reason: Reason, errors: readonly GraphQLError[]) {
    super(errors[0]?.message)
    this.reason = reason
    this.errors = errors
  }
}

/** What a client is told of a request that was not executed. @throws what is no such refusal */
export function formatRefusal(error: unknown, requestId: string): FormattedError[] {
  if (error instanceof AppError) return [publicError(error, requestId)]
  if (!(error instanceof RequestRefused)) throw error
  return error.errors
    .slice(0, maxErrors)
    .map(each => placed(publicError(new AppError(error.reason, shortened(each.message)), requestId), each))
}

/** What a client is told of what a resolver threw. `report` is given what is not the client's doing. */
export function formatExecution(
  errors: readonly GraphQLError[],
  requestId: string,
  report: (error: AppError, path: string) => void,
): FormattedError[] {
  return errors.slice(0, maxErrors).map(error => {
    const known = explain(error)
    if (known.code === 'INTERNAL_SERVER_ERROR') report(known, (error.path ?? []).join('.'))
    return placed(publicError(known, requestId), error)
  })
}

function explain(error: GraphQLError): AppError {
  const cause = causeOf(error)
  // graphql's own complaint about an argument; about a value that a resolver answered it names no place in the document.
  const isArgument = cause instanceof GraphQLError && cause !== error && cause.nodes !== undefined
  return isArgument ? new AppError('INVALID_INPUT', shortened(cause.message)) : toAppError(cause)
}

/** What a resolver has thrown. */
export function causeOf(error: Error): Error {
  return error instanceof GraphQLError && error.originalError ? causeOf(error.originalError) : error
}

function shortened(message: string): string {
  return message.length > maxMessage ? `${message.slice(0, maxMessage).toWellFormed()}...` : message
}

function placed(error: PublicError, { locations, path }: GraphQLError): FormattedError {
  return { ...error, ...(locations && { locations }), ...(path && { path }) }
}
