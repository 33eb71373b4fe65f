export default { cacheComponents: true };
