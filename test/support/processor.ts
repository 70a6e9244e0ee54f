/** Measures the CPU time of this process in milliseconds. Unlike wall-clock time, it excludes other processes. */
export async function cost<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begin = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(begin)
  return [result, (user + system) / 1000]
}
