// Numbers as the commands write them.

/** `1,310`. @param {number} number */
export function count(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 node`, `4 nodes`. @param {number} number @param {string} one @param {string} [many] */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** The units of bytes, the largest first; a binary unit where both need as many digits. @type {[string, bigint][]} */
const UNITS = [
  ["Ei", 1n << 60n], ["Pi", 1n << 50n], ["Ti", 1n << 40n], ["Gi", 1n << 30n], ["Mi", 1n << 20n], ["Ki", 1n << 10n],
  ["E", 10n ** 18n], ["P", 10n ** 15n], ["T", 10n ** 12n], ["G", 10n ** 9n], ["M", 10n ** 6n], ["k", 1000n],
];

/** An amount in base units as people write it: `1.5` cpu, `64Gi` memory. @param {string} resource @param {number} value */
export function amount(resource, value) {
  if (["memory", "ephemeral-storage", "storage"].includes(resource) || resource.startsWith("hugepages-")) {
    return bytes(value);
  }
  if (resource !== "cpu") return String(value);
  if (value !== 0 && Math.abs(value) < 1000) return `${value}m`;
  return String(value / 1000);
}

/** @param {number} value */
function bytes(value) {
  const exact = BigInt(value);
  let best = { text: String(exact), digits: String(exact).length };
  for (const [unit, size] of UNITS) {
    if (exact === 0n || exact % size !== 0n) continue;
    const number = String(exact / size);
    if (number.length < best.digits) best = { text: `${number}${unit}`, digits: number.length };
  }
  return best.text;
}

/** Seconds in at most two units: `2 d`, `3 h 20 min`, `14 min`, `9 s`. @param {number} seconds */
export function age(seconds) {
  if (seconds < 0) return "-";
  const [days, hours] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24];
  const minutes = Math.floor(seconds / 60) % 60;
  if (days === 0 && hours === 0) return minutes === 0 ? `${seconds} s` : `${minutes} min`;
  if (days === 0) return minutes === 0 || hours >= 10 ? `${hours} h` : `${hours} h ${minutes} min`;
  return hours === 0 || days >= 3 ? `${days} d` : `${days} d ${hours} h`;
}
