import { isDeepStrictEqual } from 'node:util'
import { formatPath, parsePath } from '../../auth/path.ts'
import { recheckDays } from '../../services/jobs/index.ts'
import { maxSchedulesPage, type Schedule } from '../../services/schedules/index.ts'
import { type ApplyContext, change, create, drift, idOfProvider, onlyNamed, type Step } from './context.ts'
import type { DeclaredCopies, DeclaredLocation } from './declaration.ts'

/** Compares the schedules that keep copies by their names. Those that are not declared stay. */
export async function planCopies(context: ApplyContext): Promise<Step[]> {
  const { services, viewer, declaration } = context
  const declared = declaration.copies
  if (!declared) return []
  const found = await allCopies(context)
  const steps = declared.flatMap((copies): Step | Step[] => {
    const { name, cron = '0 3 * * *', timeZone = 'UTC' } = copies
    const subject = subjectOf(name)
    const present = onlyNamed('schedules', found, name)
    if (!present) {
      const targets = copies.copies.map(nameOf).join(', ')
      return create(subject, `of ${nameOf(copies.folder)} in ${targets}`, () =>
        services.schedules.create(viewer, { name, cron, timeZone, job: jobOf(context, copies) }),
      )
    }
    if (!isSameJob(context, present, copies)) return drift(subject, 'has other folders or options: delete it first')
    const differing = [
      ...(present.cron === cron ? [] : [`cron -> ${cron}`]),
      ...(present.timeZone === timeZone ? [] : [`time zone -> ${timeZone}`]),
      ...(present.nextRunAt ? [] : ['enabled']),
    ]
    if (differing.length === 0) return []
    const changes = { id: present.id, cron, timeZone, enabled: true }
    return change(subject, differing.join(', '), () => services.schedules.update(viewer, changes))
  })
  const known = new Set(declared.map(({ name }) => name))
  const others = found.filter(({ name }) => !known.has(name))
  return [...steps, ...others.map(({ name }) => drift(subjectOf(name), 'are not declared'))]
}

async function allCopies({ services, viewer }: ApplyContext): Promise<Schedule[]> {
  const found: Schedule[] = []
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof services.schedules.list>> = await services.schedules.list(viewer, {
      first: maxSchedulesPage,
      after,
    })
    found.push(...page.items.map(({ schedule }) => schedule).filter(({ job }) => job.kind === 'KEEP_COPIES'))
    if (!page.hasNext) return found
    after = page.endCursor
  }
}

function jobOf(context: ApplyContext, { folder, copies, ...options }: DeclaredCopies) {
  const sources = [folder, ...copies].map(({ provider, path }) => ({
    providerId: idOfProvider(context, provider),
    path,
  }))
  const keeping = { repair: options.repair ?? false, recheckDays: options.recheckDays ?? recheckDays.usual }
  const deleteExtra = options.deleteExtra ?? false
  return {
    kind: 'KEEP_COPIES',
    sources,
    conflict: 'FAIL',
    deleteExtra,
    dryRun: false,
    permanent: false,
    keeping,
  } as const
}

function isSameJob(context: ApplyContext, { job }: Schedule, declared: DeclaredCopies): boolean {
  const wanted = jobOf(context, declared)
  const locationsOf = (sources: readonly { providerId: string; path: string }[]) =>
    sources.map(({ providerId, path }) => `${providerId}:${formatPath(parsePath(path))}`)
  return (
    isDeepStrictEqual(locationsOf(job.sources), locationsOf(wanted.sources)) &&
    job.deleteExtra === wanted.deleteExtra &&
    job.keeping?.repair === wanted.keeping.repair &&
    job.keeping.recheckDays === wanted.keeping.recheckDays
  )
}

function nameOf({ provider, path }: DeclaredLocation): string {
  return `"${provider}:${path}"`
}

function subjectOf(name: string): string {
  return `kept copies "${name}"`
}
