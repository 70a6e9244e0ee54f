import { Link } from 'react-router'
import { texts } from '../../texts/overview.ts'
import { Icon } from '../../ui/icons.tsx'
import { Time } from '../../ui/time.tsx'
import type { Overview } from './operations.ts'

type FailureSum = Overview['failures'][number]

/** The page that shows what failed; null for none. */
const pages: Record<FailureSum['kind'], string | null> = {
  STORAGES: '/settings/storages',
  JOBS: '/jobs?state=FAILED',
  DAMAGE: '/settings/audit?action=DAMAGE_FOUND',
  SCHEDULES: '/jobs/schedules',
  WEBHOOKS: '/settings/webhooks',
  DELIVERIES: '/settings/webhooks',
  EMAILS: null,
  DIRECTORY: '/settings/directories',
  SIGN_INS: '/settings/audit?action=LOGIN&outcome=WRONG_EMAIL_OR_PASSWORD',
}

/** Kinds that happen where everything works. */
const isUsual = (kind: FailureSum['kind']) => kind === 'SIGN_INS'

export function Attention({ failures }: { failures: readonly FailureSum[] }) {
  const hasProblems = !failures.every(({ kind }) => isUsual(kind))
  return (
    <section className="overview-attention" aria-labelledby="attention">
      {hasProblems ? (
        <h2 id="attention">{texts.attention}</h2>
      ) : (
        <p id="attention" className="all-well">
          <Icon name="check" />
          {texts.allWell}
        </p>
      )}
      {failures.length > 0 && <FailureList failures={failures} />}
    </section>
  )
}

function FailureList({ failures }: { failures: readonly FailureSum[] }) {
  return (
    <ul className="attention-list">
      {failures.map(({ kind, count, latestAt }) => (
        <li key={kind} className={isUsual(kind) ? 'attention usual' : 'attention'}>
          <Icon name={isUsual(kind) ? 'info' : 'alert'} />
          <span className="attention-text">
            <FailureText kind={kind} count={count} />
          </span>
          {latestAt !== null && (
            <span className="help">
              <Time at={latestAt} as="distance" />
            </span>
          )}
          {pages[kind] !== null && <Icon name="right" />}
        </li>
      ))}
    </ul>
  )
}

function FailureText({ kind, count }: Pick<FailureSum, 'kind' | 'count'>) {
  const text = texts.failures[kind](count)
  const page = pages[kind]
  return page === null ? text : <Link to={page}>{text}</Link>
}
