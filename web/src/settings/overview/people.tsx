import { Link } from 'react-router'
import { formatNumber } from '../../texts/format.ts'
import { texts as groupTexts } from '../../texts/groups.tsx'
import { texts } from '../../texts/overview.ts'
import { texts as settingsTexts } from '../../texts/settings.tsx'
import type { Overview } from './operations.ts'

/** The members by their roles, and the facts about them that an administrator acts on. */
export function People({ people }: { people: Overview['people'] }) {
  const all = people.roles.reduce((sum, { members }) => sum + members, 0)
  const facts = [
    [texts.activeMonth, people.activeIn30Days, '/settings/members'],
    [texts.withoutFactor, people.withoutSecondFactor, '/settings/workspace'],
    [texts.invites, people.invites, '/settings/members'],
    [texts.deactivated, people.deactivated, '/settings/members'],
    [groupTexts.serviceAccounts, people.serviceAccounts, '/settings/service-accounts'],
  ] as const
  return (
    <section className="overview-card overview-people" aria-labelledby="overview-people">
      <h2 id="overview-people">{settingsTexts.members}</h2>
      <p className="overview-number">{formatNumber(all)}</p>
      <p className="help">{texts.active(people.activeIn7Days, all)}</p>
      <div className="role-bar" aria-hidden="true">
        {people.roles.map(({ role, members }) => (
          <span key={role} className={`role-${role.toLowerCase()}`} style={{ flexGrow: members }} />
        ))}
      </div>
      <ul className="role-legend">
        {people.roles.map(({ role, members }) => (
          <li key={role}>
            <span className={`role-dot role-${role.toLowerCase()}`} aria-hidden="true" />
            {settingsTexts.roles[role]} <strong>{formatNumber(members)}</strong>
          </li>
        ))}
      </ul>
      <dl className="overview-facts">
        {facts.map(([name, count, page]) => (
          <div key={name}>
            <dt>{count > 0 ? <Link to={page}>{name}</Link> : name}</dt>
            <dd>{formatNumber(count)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
