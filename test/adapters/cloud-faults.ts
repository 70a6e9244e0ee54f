import type { Faults } from '../../adapters/conformance/index.ts'

/** The parts of a fake cloud storage that cause faults. */
interface Faulty {
  oauth: { expireAccessTokens(): void }
  faults: {
    fail(fault: { reason: string; status?: number; retryAfter?: number; times: number }): void
    clear(): void
  }
}

/** Returns the faults of a fake cloud storage for the conformance kit. @param reasons the vendor's words for them */
export function cloudFaults({ oauth, faults }: Faulty, reasons: { rateLimit: string; unavailable: string }): Faults {
  const clear = () => faults.clear()
  return {
    async expireCredentials() {
      oauth.expireAccessTokens()
      return () => {}
    },
    async rateLimit(_provider, { retryAfterMs }) {
      faults.fail({ reason: reasons.rateLimit, retryAfter: retryAfterMs / 1000, times: Infinity })
      return clear
    },
    async unavailable() {
      faults.fail({ reason: reasons.unavailable, status: 503, times: Infinity })
      return clear
    },
  }
}
