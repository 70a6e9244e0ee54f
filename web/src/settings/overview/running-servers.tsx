import { common } from '../../texts/common.ts'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/overview.ts'
import { Time } from '../../ui/time.tsx'
import type { Overview } from './operations.ts'

type Server = Overview['server']
type Process = Server['processes'][number]

/** The versions of everything that runs, and the servers with their processes. */
export function RunningServers({ server }: { server: Server }) {
  const { version, postgresVersion, migration, databaseBytes, processes, hasMixedVersions } = server
  return (
    <section className="overview-card overview-servers" aria-labelledby="overview-servers">
      <h2 id="overview-servers">{texts.running}</h2>
      <p className="overview-number">
        {named(common.product, version)} {hasMixedVersions && <span className="badge warn">{texts.mixed}</span>}
      </p>
      <dl className="overview-facts">
        <div>
          <dt>{texts.database}</dt>
          <dd>
            <bdi>{named('PostgreSQL', postgresVersion)}</bdi> · <bdi>{formatBytes(databaseBytes)}</bdi>
          </dd>
        </div>
        <div>
          <dt>{texts.schema}</dt>
          <dd className="overview-schema">{migration}</dd>
        </div>
      </dl>
      <ul className="server-list">
        {serversOf(processes).map(({ key, host, count, isAlive, oldest, newest }) => (
          <li key={key}>
            <div className="server-name">
              <strong dir="auto">{host}</strong>
              {!isAlive && <span className="badge bad">{texts.notResponding}</span>}
            </div>
            <p className="help">
              <bdi>{named(common.product, oldest.version)}</bdi> · <bdi>{named('Node.js', oldest.nodeVersion)}</bdi> ·{' '}
              <bdi>{texts.processes(count)}</bdi>
            </p>
            <p className="help">
              {isAlive ? (
                <>
                  {texts.started} <Time at={oldest.startedAt} as="distance" />
                </>
              ) : (
                <Time at={newest.seenAt} as="distance" />
              )}
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Names of programs are the same in each language. */
const named = (program: string, version: string) => `${program} ${version}`

/** The processes of one machine with one version, those that run apart from those that were killed. */
function serversOf(processes: readonly Process[]) {
  const keyOf = ({ host, version, nodeVersion, isAlive }: Process) => [host, version, nodeVersion, isAlive].join(' ')
  return [...Map.groupBy(processes, keyOf)].flatMap(([key, group]) => {
    const [oldest] = group.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt))
    const [newest] = group.toSorted((a, b) => b.seenAt.localeCompare(a.seenAt))
    if (!oldest || !newest) return []
    return [{ key, host: oldest.host, count: group.length, isAlive: oldest.isAlive, oldest, newest }]
  })
}
