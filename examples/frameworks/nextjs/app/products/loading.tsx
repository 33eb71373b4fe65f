export default () => <p>One moment</p>;
