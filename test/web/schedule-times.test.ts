/** The choices of the dialog for schedules, and the cron patterns that they stand for. */
import t from 'tap'
import { nextTime } from '../../src/services/schedules/index.ts'
import { cronOf, defaultTimes, describeTimes, type Frequency, timesOf } from '../../web/src/jobs/schedules/times.ts'

t.test('the choices have a pattern that the server accepts, and the pattern has these choices', async t => {
  const after = new Date('2026-01-01T00:00:00Z')
  for (const frequency of ['hour', 'day', 'week', 'month'] satisfies Frequency[]) {
    for (const time of ['00:00', '02:05', '13:30', '23:59']) {
      for (const weekday of ['0', '3', '6']) {
        for (const day of ['1', '9', '31']) {
          const cron = cronOf({ ...defaultTimes, frequency, time, weekday, day })
          const times = timesOf(cron)
          t.equal(times.frequency, frequency, cron)
          t.equal(cronOf(times), cron)
          const next = nextTime({ cron, timeZone: 'UTC' }, after)
          t.equal(next.getUTCMinutes(), Number(time.slice(3)))
          if (frequency !== 'hour') t.equal(next.getUTCHours(), Number(time.slice(0, 2)))
          if (frequency === 'week') t.equal(String(next.getUTCDay()), weekday)
          if (frequency === 'month') t.equal(String(next.getUTCDate()), day)
        }
      }
    }
  }
})

t.test('other patterns stay as they are', async t => {
  for (const cron of ['*/5 * * * *', '0 0 1 1 *', '0 0 1 * 1', '0 9-17 * * 1-5', '0 0 L * *', '0 3 * * MON']) {
    t.equal(timesOf(cron).frequency, 'custom', cron)
    t.equal(cronOf(timesOf(cron)), cron)
    t.equal(describeTimes(cron), `Cron: ${cron}`)
  }
  t.equal(cronOf({ ...defaultTimes, frequency: 'custom', cron: ' 0 1 * * * ' }), '0 1 * * *')
})

t.test('patterns are described in words', async t => {
  t.equal(describeTimes('0 * * * *'), 'Every hour')
  t.equal(describeTimes('5 * * * *'), 'Every hour, 5 min past')
  t.match(describeTimes('30 2 * * *'), /^Every day at 0?2:30/)
  t.match(describeTimes('30 14 * * 7'), /^Every Sunday at /)
  t.match(describeTimes('30 14 * * 1'), /^Every Monday at /)
  t.match(describeTimes('0 0 15 * *'), /^On day 15 of each month at /)
})
