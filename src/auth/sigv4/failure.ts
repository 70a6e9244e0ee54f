import { AppError } from '../../errors.ts'

/** The reasons for refusing a signature, by the names that S3 gives them. Clients act on some, such as the clock. */
export type SignatureFault =
  | 'AccessDenied'
  | 'AuthorizationHeaderMalformed'
  | 'AuthorizationQueryParametersError'
  | 'IncompleteBody'
  | 'InvalidAccessKeyId'
  | 'InvalidArgument'
  | 'InvalidURI'
  | 'RequestTimeTooSkewed'
  | 'SignatureDoesNotMatch'

/** A request whose signature is missing a part, out of date or wrong. */
export class SignatureError extends AppError {
  readonly fault: SignatureFault

  constructor(fault: SignatureFault, message: string) {
    super('INVALID_CREDENTIAL', message)
    this.fault = fault
  }
}
