import { catalog } from './catalog.ts'
import { formatCount } from './format.ts'

/** The overview for administrators. */
export const texts = catalog('overview', {
  overview: 'Overview',
  loading: 'Loading the overview',
  attention: 'Needs attention',
  allWell: 'Everything works, and nothing has failed in the last 7 days.',
  failures: {
    STORAGES: (count: number) => `${formatCount(count, 'storage')} not working`,
    JOBS: (count: number) => `${formatCount(count, 'job')} failed`,
    DAMAGE: (count: number) => `${formatCount(count, 'check')} found damaged or missing files`,
    SCHEDULES: (count: number) => `${formatCount(count, 'schedule')} switched off by the server`,
    WEBHOOKS: (count: number) => `${formatCount(count, 'webhook')} switched off by the server`,
    DELIVERIES: (count: number) => `${formatCount(count, 'message')} to webhooks not delivered`,
    EMAILS: (count: number) => `${formatCount(count, 'email')} not delivered: see the log of the server`,
    DIRECTORY: (count: number) => `${formatCount(count, 'directory', 'directories')} could not be read`,
    SIGN_INS: (count: number) => `${formatCount(count, 'sign-in')} refused`,
  },
  usage: 'Usage',
  period: 'Period',
  periods: { MONTH: '30 days', YEAR: '12 months' },
  in30Days: (change: string) => `${change} in 30 days`,
  noUsage: 'Usage appears here as soon as a storage is indexed.',
  oneDay: 'The line begins tomorrow, with a point for each day.',
  active: (active: number, all: number) => `Active in the last 7 days: ${active} of ${all}`,
  activeMonth: 'Active in the last 30 days',
  withoutFactor: 'No second factor',
  invites: 'Open invites',
  deactivated: 'Deactivated',
  running: 'Servers',
  database: 'Database',
  schema: 'Schema',
  mixed: 'Several versions',
  started: 'Started',
  notResponding: 'Not responding',
  processes: (count: number) => formatCount(count, 'process', 'processes'),
})
